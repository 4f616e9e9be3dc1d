import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/** As much as one read of a connection brings at most. */
const pieceBytes = 64 * 1024;
/** So many pieces are kept for the next answers of a connection: half a megabyte. */
const mostKept = 8;

/**
 * Returns a connector whose connections read into the same memory again and again. Every read of a socket otherwise
 * allocates 64 KiB outside the heap, and V8 goes through its whole heap each time that a few hundred answers have come.
 *
 * The memory of an answer is reused after the next request was written to its connection. By then the answer must have been
 * hashed and decoded to text. Without pipelining no byte of an answer comes before the previous one is complete.
 */
export function connectorOverSameMemory(options: buildConnector.BuildOptions): buildConnector.connector {
  let session: Buffer | undefined;
  return (target, callback) => {
    let socket: Socket | null = null;
    const memory = piecesOf(() => socket?.bytesWritten ?? 0);
    const onread = {
      buffer: memory.next,
      callback: (bytes: number, piece: Uint8Array) => socket?.push(piece.subarray(0, bytes)) ?? false,
    };
    // One for each connection, whose memory it is: so the session of TLS is handed on here.
    const connect = buildConnector({ ...options, session, onread });
    // It returns the socket, which its type does not say.
    socket = connect(target, callback) as unknown as Socket;
    socket.on('session', (latest: Buffer) => {
      session = latest;
    });
  };
}

/** Hands out pieces of memory, the same again once something was written since. */
function piecesOf(written: () => number): { next(): Uint8Array } {
  const free: Uint8Array[] = [];
  let used: Uint8Array[] = [];
  let before = 0;
  return {
    next: () => {
      const now = written();
      if (now !== before) {
        before = now;
        // The latest one holds the first bytes of the new answer.
        free.push(...used.slice(0, -1));
        free.length = Math.min(free.length, mostKept);
        used = used.slice(-1);
      }
      const piece = free.pop() ?? Buffer.allocUnsafeSlow(pieceBytes);
      used.push(piece);
      return piece;
    },
  };
}
