/** Where something listens: a unix socket, or a host and port. */
export type ListenAddress = { readonly socket: string } | { readonly host: string; readonly port: number };

/** `unix:PATH` or `HOST:PORT`, as the configuration writes it. */
export function listenAddress(listen: string): ListenAddress {
  if (listen.startsWith('unix:')) return { socket: listen.slice('unix:'.length) };
  const { hostname, port } = new URL(`http://${listen}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
}
