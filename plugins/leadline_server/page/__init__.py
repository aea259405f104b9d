"""The web page of `leadline serve`: HTML made on the server, one style sheet, and a little script it can do without.

`pages` has the addresses, `trail` what a run has done so far, `report` the report as HTML, `forms` what browsers send.
"""
