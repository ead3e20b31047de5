/**
 * What a call reaches beyond the conversation and the workspace.
 * `network`: a host. `message`: a recipient, or a service where something is published. `package`: a package to install. `command`: a
 * command outside the sandbox. `path`: a file outside the workspace. `memory`, `learning`, `instructions`, `skill`, `schedule`: text that
 * later sessions follow.
 */
export type SinkKind =
  | "network"
  | "message"
  | "package"
  | "command"
  | "path"
  | "memory"
  | "learning"
  | "instructions"
  | "skill"
  | "schedule"

export interface Sink {
  readonly kind: SinkKind
  /** The host, recipient, package, command, path or text. Undefined when it is computed where nobody can see it. */
  readonly value: string | undefined
  /** Words of the user that ask for exactly this, for what has no address: "pull request". */
  readonly asked?: RegExp
}
