import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server, Socket } from 'node:net';

/** What stands between the daemon and the service for a while. Nothing set: every call passes. */
export interface Fault {
  /** Connections are refused. */
  readonly refuses?: true;
  /** Gets each connection before a byte is read. */
  connection?(socket: Socket): void;
  /** Answers a call, or passes it on. */
  answer?(call: IncomingMessage, answer: ServerResponse, pass: () => void): void;
  /** The certificate that is shown instead. */
  readonly certificate?: Certificate;
}

export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** Below those that the kernel gives to whoever connects: a port that is closed for a while is still free afterwards. */
let next_port = 10_000 + ((process.pid * 32) % 20_000);

/** The way to the service, on which a fault can be put. With a certificate it speaks TLS. */
export class Way implements AsyncDisposable {
  readonly #service: { readonly hostname: string; readonly port: string };
  readonly #certificate: Certificate | null;
  readonly #server: Server & { setSecureContext?(context: Certificate): void };
  /** Those of the daemon, so that a fault can cut them. */
  readonly #sockets = new Set<Socket>();
  readonly #agent = new Agent({ keepAlive: true });
  #fault: Fault = {};
  #calls = 0;
  readonly #port = next_port++;

  private constructor(service: string, certificate: Certificate | null) {
    this.#service = new URL(service);
    this.#certificate = certificate;
    const answer = (call: IncomingMessage, response: ServerResponse) => {
      this.#calls += 1;
      const pass = () => this.#pass(call, response);
      if (this.#fault.answer === undefined) pass();
      else this.#fault.answer(call, response, pass);
    };
    this.#server = certificate === null ? createServer(answer) : createTlsServer({ ...certificate }, answer);
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
      this.#fault.connection?.(socket);
    });
    this.#server.on('tlsClientError', () => undefined);
  }

  static async to(service: string, certificate: Certificate | null): Promise<Way> {
    const way = new Way(service, certificate);
    await way.#listen();
    return way;
  }

  /** Calls that have come, however they were answered. */
  get calls(): number {
    return this.#calls;
  }

  get port(): number {
    return this.#port;
  }

  /** Puts a fault on the way. Connections made before it are cut, as they are where a host or a network goes away. */
  async begin(fault: Fault): Promise<void> {
    const before = this.#fault;
    this.#fault = fault;
    const certificate = fault.certificate ?? this.#certificate;
    if (certificate !== null) this.#server.setSecureContext?.(certificate);
    const closed = fault.refuses ? new Promise((resolve) => this.#server.close(resolve)) : null;
    if (before.refuses && !fault.refuses) await this.#listen();
    this.cut();
    await closed;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#fault.refuses) await this.begin({ refuses: true });
    this.#agent.destroy();
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Passes a call on, and back whatever becomes of it: an answer that breaks off breaks off here too. */
  #pass(call: IncomingMessage, response: ServerResponse): void {
    const { hostname, port } = this.#service;
    const { method, url, headers } = call;
    const onward = request({ hostname, port, method, path: url, headers, agent: this.#agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.on('aborted', () => response.destroy()).pipe(response);
    });
    onward.on('error', () => response.destroy());
    call.pipe(onward);
  }
}
