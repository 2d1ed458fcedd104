"""Language models behind one port: the embedded one, servers, a scripted one; retry and limit wrap any of them."""
