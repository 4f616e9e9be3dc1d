import {
  type Agent,
  createServer,
  Agent as HttpAgent,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';

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

/** The way to the service, on which a fault can be put. With a certificate it speaks TLS. */
export class FaultProxy implements AsyncDisposable {
  readonly #service_port: number;
  readonly #certificate: Certificate | null;
  readonly #server: Server & { setSecureContext?(context: Certificate): void };
  /** Those of the daemon, so that a fault can cut them. */
  readonly #sockets = new Set<Socket>();
  readonly #agent: Agent = new HttpAgent({ keepAlive: true });
  #fault: Fault = {};
  #port = 0;

  constructor(service_port: number, certificate: Certificate | null) {
    this.#service_port = service_port;
    this.#certificate = certificate;
    const answer = (call: IncomingMessage, response: ServerResponse) => {
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

  get port(): number {
    return this.#port;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Puts a fault on the way. Connections made before it are cut, as they are where a host or a network goes away. */
  async begin(fault: Fault): Promise<void> {
    const before = this.#fault;
    this.#fault = fault;
    if (fault.certificate !== undefined) this.#server.setSecureContext?.(fault.certificate);
    else if (before.certificate !== undefined && this.#certificate !== null)
      this.#server.setSecureContext?.(this.#certificate);
    if (fault.refuses) {
      const closed = new Promise((resolve) => this.#server.close(resolve));
      this.cut();
      await closed;
    } else if (before.refuses) await this.listen();
    this.cut();
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#fault.refuses) await this.begin({ refuses: true });
    this.#agent.destroy();
  }

  /** Passes a call on, and back whatever becomes of it: an answer that breaks off breaks off here too. */
  #pass(call: IncomingMessage, response: ServerResponse): void {
    const { method, url, headers } = call;
    const onward = request(
      { host: '127.0.0.1', port: this.#service_port, method, path: url, headers, agent: this.#agent },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.on('aborted', () => response.destroy()).pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    call.pipe(onward);
  }
}
