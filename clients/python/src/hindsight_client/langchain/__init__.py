"""LangChain 1.x and LangGraph: what an agent does is recorded, what is remembered is placed before it, and a call that
is known to fail is warned about.

>>> agent = create_agent(model, tools, middleware=[HindsightMiddleware(client)])
>>> agent.invoke({"messages": ["..."]}, {"callbacks": [HindsightCallbackHandler(client)]})
"""

from ._handler import HindsightCallbackHandler
from ._middleware import HindsightMiddleware

__all__ = ["HindsightCallbackHandler", "HindsightMiddleware"]
