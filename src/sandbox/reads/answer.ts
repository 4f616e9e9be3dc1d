/** An answer of the service before any fault is applied. */
export interface SandboxAnswer {
  readonly status: number;
  readonly body: string;
}
