"""An MCP server with the tools of the task, over standard input and output."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from roads_task import answer

server = MCPServer("operations")


@server.tool()
def restart_service(name: str) -> str:
    """Restarts a service."""
    return _made("restart_service", {"name": name})


@server.tool()
def list_services(pattern: str) -> str:
    """Lists services."""
    return _made("list_services", {"pattern": pattern})


def _made(tool: str, arguments: dict) -> str:
    output, failed = answer(tool, arguments)
    if failed:
        raise ToolError(output)
    return output


if __name__ == "__main__":
    server.run()
