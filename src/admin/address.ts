/** Where the admin interface listens: a unix socket, or a host and port. */
export type AdminAddress = { readonly socket: string } | { readonly host: string; readonly port: number };

/** `unix:PATH` or `HOST:PORT`, as the configuration writes it. */
export function adminAddress(listen: string): AdminAddress {
  if (listen.startsWith('unix:')) return { socket: listen.slice('unix:'.length) };
  const { hostname, port } = new URL(`http://${listen}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
}
