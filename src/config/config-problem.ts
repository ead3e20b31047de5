/** Something wrong with the configuration that does not keep the program from running. */
export interface ConfigProblem {
  readonly severity: "error" | "warning"
  /** Dotted path, or the empty text for the file as a whole. */
  readonly path: string
  readonly message: string
  readonly fix: string
}
