"""The one layer between YAML files and the rest: reading, units, models, schemas, writing.

`reading` makes a `Document` of a file, which knows the line of every entry; `models.validate`
makes a declared data class of a document, or one `ConfigurationError` that lists its faults.
"""
