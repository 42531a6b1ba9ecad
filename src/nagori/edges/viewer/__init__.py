"""Memory viewer: a page in the browser to see, search and change what is remembered.

`page_data.py` says what each page shows, `actions.py` what its buttons do, `routes.py` serves both and the
files in `static`, and `serve.py` runs them on this machine for `nagori view`. docs/why/viewer.md has the
reasons.
"""
