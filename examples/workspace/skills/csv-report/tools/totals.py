"""Totals of a CSV file by one of its columns."""

import csv
from collections import Counter

from langchain_core.tools import tool


@tool
def totals(path: str, group_by: str) -> dict:
    """Count the rows of a CSV file for each value of a column."""
    with open(path, newline="", encoding="utf-8") as file:
        counts = Counter(row[group_by] for row in csv.DictReader(file))
    return {"rows": sum(counts.values()), "totals": dict(counts.most_common())}
