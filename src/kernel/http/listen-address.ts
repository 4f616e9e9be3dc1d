/** An address to listen on: a unix socket, or a host and port. */
export type ListenAddress = { readonly socket: string } | { readonly host: string; readonly port: number };

/** Parses `unix:PATH` or `HOST:PORT`. */
export function listenAddress(listen: string): ListenAddress {
  if (listen.startsWith('unix:')) return { socket: listen.slice('unix:'.length) };
  const { hostname, port } = new URL(`http://${listen}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
}
