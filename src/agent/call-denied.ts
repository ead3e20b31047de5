/** Thrown by `toolStarting` of a facet: the user does not want this call to run. The message is for the model. */
export class CallDeniedError extends Error {
  override readonly name = "CallDeniedError"
  /** Names the reason in events. */
  readonly rule: string

  constructor(message: string, rule: string) {
    super(message)
    this.rule = rule
  }
}
