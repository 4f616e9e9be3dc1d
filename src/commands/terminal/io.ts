/** Where a command writes, and what it is told from outside. */
export interface Io {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by SIGINT and SIGTERM; by SIGHUP too, except in the daemon. */
  readonly signal: AbortSignal;
  /** Calls the listener at each SIGHUP that the daemon gets. */
  onHangup?(listener: () => void): Disposable;
}
