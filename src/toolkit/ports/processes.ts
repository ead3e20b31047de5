import type { ProcessRegistry } from "../../exec/background/process-registry.ts"

/** Background commands of the session. */
export type ProcessesPort = Pick<
  ProcessRegistry,
  "start" | "list" | "peek" | "acknowledge" | "wait" | "kill" | "write" | "closeInput"
>
