"""HTTP server: the memory's verbs as routes under `/v1`, for other machines and for a page on this one.

`app.py` builds the application, `access.py` decides who may call, `operations.py` is the table of routes,
`request_structs.py` says what requests may hold, and `openapi.py` describes it all. Only these modules
import the server's libraries, which are optional (`nagori[server]`); `client.py` and `wire.py` need none.
"""
