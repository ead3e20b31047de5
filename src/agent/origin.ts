/**
 * Where a session comes from and who can answer its questions. Session ids, prompts and approvals take it from here; nothing else
 * knows which surface is running.
 */
export interface Origin {
  readonly surface: Surface
  /** The label stored with the session and used to filter lists, for example from `--source`. Default: the platform. */
  readonly source?: string
  /** Selects the prompt's advice on how to answer, for example a chat platform. Default: the surface. */
  readonly platform?: string
  /** Whether a user is present to answer questions. May change during a session, for example when a terminal is detached. */
  attended(): boolean
  /** The user on whose behalf the session runs, where a surface has more than one. */
  readonly identity?: { readonly userId: string; readonly displayName?: string }
}

export type Surface = "cli" | "tui" | "gateway" | "server" | "acp" | "background"

export function platformOf({ platform, surface }: Origin): string {
  return platform ?? surface
}

export function sourceOf(origin: Origin): string {
  return origin.source ?? platformOf(origin)
}

/** The form of the session's id: lists and the Python edition tell sessions apart by it. */
export function sessionIdKind({ surface }: Origin): "terminal" | "gateway" | "background" {
  return surface === "gateway" || surface === "background" ? surface : "terminal"
}
