/** The colours that a skin defines. */
export const COLOR_ROLES = [
  "banner_border",
  "banner_title",
  "banner_accent",
  "banner_dim",
  "banner_text",
  "ui_accent",
  "ui_label",
  "ui_ok",
  "ui_error",
  "ui_warn",
  "prompt",
  "input_rule",
  "response_border",
  "status_bar_bg",
  "status_bar_text",
  "status_bar_strong",
  "status_bar_dim",
  "status_bar_good",
  "status_bar_warn",
  "status_bar_bad",
  "status_bar_critical",
  "session_label",
  "session_border",
  "selection_bg",
  "completion_menu_bg",
  "completion_menu_text",
  "completion_menu_selected",
  "completion_menu_detail",
] as const

export type ColorRole = (typeof COLOR_ROLES)[number]

export type TextStyle = "bold" | "dim" | "italic" | "underline" | "strikethrough" | "inverse"

/** Styles text for the screen. The text must be printable already; without colours it is returned unchanged. */
export interface Theme {
  readonly name: string
  readonly color: boolean
  readonly background: "dark" | "light"
  /** Colours the text; a `…_bg` role colours its background. Styles may be nested. */
  paint(role: ColorRole, text: string): string
  style(style: TextStyle, text: string): string
  readonly spinner: {
    readonly frames: readonly string[]
    readonly waitingFaces: readonly string[]
    readonly thinkingFaces: readonly string[]
    readonly thinkingVerbs: readonly string[]
    readonly wings: readonly (readonly [string, string])[]
  }
  readonly branding: {
    readonly agentName: string
    readonly welcome: string
    readonly goodbye: string
    readonly responseLabel: string
    readonly promptSymbol: string
    readonly helpHeader: string
  }
  readonly toolPrefix: string
  readonly toolEmojis: Readonly<Record<string, string>>
}
