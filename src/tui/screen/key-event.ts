/** What the user did on the keyboard. */
export type KeyEvent =
  | {
      readonly type: "key"
      /**
       * Modifiers in the order super, ctrl, alt, shift, then the key: `ctrl+r`, `alt+enter`, `shift+tab`, `ctrl+left`, `f5`, `escape`,
       * `space`. A character without ctrl, alt and super is its own chord: `a`, `A`, `?`, `é`.
       */
      readonly chord: string
      /** The character to insert; empty for keys that produce none. */
      readonly text: string
    }
  /** `unmarked` if the terminal does not mark pasted text, so that it was recognised by its lines. */
  | { readonly type: "paste"; readonly text: string; readonly unmarked?: true }

/** What the terminal says by itself, or when it was asked. It arrives between the keys. */
export type TerminalReport =
  | { readonly type: "focus"; readonly focused: boolean }
  /** An operating system command, for example `11;rgb:0000/0000/0000`: the background colour. */
  | { readonly type: "osc"; readonly payload: string }
  /** The kind of terminal, as the first of its secondary device attributes. */
  | { readonly type: "terminal-kind"; readonly kind: number }

export type InputEvent = KeyEvent | TerminalReport
