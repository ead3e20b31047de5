/** Asks the user and waits for the answer. */
export interface AskPort {
  ask(question: Question): Promise<QuestionOutcome>
}

export interface Question {
  /** Answers to `secret` and `sudo` never enter history, events or logs. */
  readonly kind: "question" | "secret" | "sudo"
  /** Set where Hermes asks. Otherwise the question is the model's, and the model reads the answer. */
  readonly asker?: "hermes"
  readonly question: string
  readonly choices: readonly string[]
  readonly allowFreetext: boolean
}

/** `unattended`: there is no user who could answer. */
export type QuestionOutcome =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "unattended" }
