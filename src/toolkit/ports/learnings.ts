/** What worked after an error, kept across sessions. */
export interface LearningsPort {
  /** A sentence that says why not, or the id under which it is kept. */
  save(learning: { readonly pattern: string; readonly fix: string }): Promise<string>
}
