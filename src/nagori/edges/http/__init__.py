"""HTTP server: the memory's verbs as routes under `/v1`, for other machines and for a page on this one.

`app.py` builds the application, `access.py` decides who may call, `operations.py` is the table of routes and
`openapi.py` describes it. Only these modules import the server's libraries, which are optional
(`nagori[server]`).
"""
