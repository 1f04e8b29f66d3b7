# Sources of doc.
