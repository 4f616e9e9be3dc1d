import { createHook } from 'node:async_hooks';

/** Connections and name queries that this process begins, however they are asked for. */
export interface Connections extends Disposable {
  connects(): number;
  queries(): number;
}

/** Counts them from now on, at the point where the operating system is asked. */
export function countConnections(): Connections {
  const counts = { connects: 0, queries: 0 };
  const hook = createHook({
    init: (_, type) => {
      if (type === 'TCPCONNECTWRAP') counts.connects += 1;
      if (type === 'GETADDRINFOREQWRAP') counts.queries += 1;
    },
  }).enable();
  return {
    connects: () => counts.connects,
    queries: () => counts.queries,
    [Symbol.dispose]: () => void hook.disable(),
  };
}
