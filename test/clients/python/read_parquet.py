"""Prints types, rows and row groups of a Parquet file as pyarrow reads them."""

import json
import sys

import pyarrow.parquet as parquet

file = parquet.ParquetFile(sys.argv[1])
table = file.read()
rows = table.to_pylist()
print(
    json.dumps(
        {
            "types": {field.name: str(field.type) for field in table.schema},
            "logical": {
                file.schema.column(at).name: str(file.schema.column(at).logical_type)
                for at in range(len(file.schema))
            },
            "rows": rows,
            "groups": file.num_row_groups,
        },
        default=str,
    )
)
