/** Puts a question to the person and waits for the answer. */
export interface AskPort {
  ask(question: Question): Promise<Answered>
}

export interface Question {
  /** Answers to `secret` and `sudo` never enter history, events or logs. */
  readonly kind: "question" | "secret" | "sudo"
  readonly question: string
  readonly choices: readonly string[]
  readonly allowFreetext: boolean
}

/** `nobody`: there is no person who could answer. */
export type Answered =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "nobody" }
