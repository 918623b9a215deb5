"""PyFlink's modules of formats."""
