"""Two manifests in, a verdict out. Reads documents only: no source, no model, nothing but the standard library."""
