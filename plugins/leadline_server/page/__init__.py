"""The web page of `leadline serve`: HTML made on the server, one style sheet, and scripts that it can do without.

`pages` has the addresses, `trail` what a run has done so far, `wording` the words, `forms` what browsers send.
"""
