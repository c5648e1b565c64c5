"""An MCP server whose deployments to port 8080 fail."""

import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("deploy")


@server.tool()
def status(service: str) -> str:
    return f"{service} is stopped"


@server.tool()
def ports() -> str:
    return "8080 nginx, 9090 free"


@server.tool()
def deploy(service: str, port: int) -> str:
    if port == 8080:
        raise ToolError("bind: address already in use: port 8080 is held by nginx")
    return f"{service} listens on {port}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport="streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
