/** Answers that only Hermes itself gives for a command: a plugin cannot return them, because it does not have the classes. */

/** The message of the user must not be sent. */
export class MessageRefusal {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/** Text for the model: below a result, or with the first message. */
export class NoteForModel {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The user must approve the call. */
export class AskFirst {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/** Other arguments, which are validated and judged like those of the model. */
export class OtherArguments {
  readonly args: Readonly<Record<string, unknown>>
  constructor(args: Readonly<Record<string, unknown>>) {
    this.args = args
  }
}
