/** Something wrong with the configuration. */
export interface ConfigProblem {
  readonly severity: "error" | "warning"
  /** Dotted path, or the empty text for the file as a whole. */
  readonly path: string
  readonly message: string
  readonly fix: string
  /** Conversations do not start with it. Commands that inspect or repair the settings do. */
  readonly blocksStart?: true
  /** The settings restrict the agent less than they say. Scripts report it too. */
  readonly restrictsLess?: true
}

/** The sentences that refuse to start a conversation; undefined when nothing prevents it. */
export function startRefusal(problems: readonly ConfigProblem[]): string | undefined {
  const blocking = problems.filter(({ blocksStart }) => blocksStart === true)
  if (blocking.length === 0) return undefined
  const found = blocking.map(({ message, fix }) => `${message}; ${fix}.`).join(" ")
  return `${found} Hermes does not start, because it could allow more than you intended.`
}
