"""flowx's compiler: source text in; findings, plan modules and one manifest out.

It never imports or runs the code it reads, and it gives the same bytes for the same source on any
machine. `build.compile_sources` is the whole of it as one pure function; the command line touches
the disk. Data flows through the folders one way: read, link, check, lower, emit.
"""
