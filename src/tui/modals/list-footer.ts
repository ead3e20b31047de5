import type { Choice } from "../../commands/choice-list.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { cutToColumns } from "../../terminal/text-layout.ts"
import type { Position, Row } from "../drawing.ts"
import { indentedRows } from "../question-text/quoted-rows.ts"
import type { ListLevel } from "./list-level.ts"
import { joinedRow, joinedRows } from "../render/joined-rows.ts"
import { hintRow } from "./modal-rows.ts"
import type { ModalView } from "./modal.ts"
import type { TextField } from "./text-field.ts"

/** What the keys are for at the moment. */
export type Interaction<T> =
  | { readonly kind: "list" }
  /** `y` and then Enter: a word that was typed for something else must not delete anything. */
  | { readonly kind: "confirm"; readonly question: string; readonly isAgreed: boolean; readonly run: () => void }
  | { readonly kind: "input"; readonly label: string; readonly field: TextField; readonly run: (text: string) => void }
  | { readonly kind: "busy"; readonly working: AbortController; readonly choice: Choice<T> }

export interface FooterState<T> {
  readonly level: ListLevel<T>
  /** Esc returns to the list that opened this one. */
  readonly isNested: boolean
  readonly interaction: Interaction<T>
  /** The outcome of the last action. */
  readonly message: string
}

/** The rows below the list: what is being asked, what has happened, or what the keys do. */
export function listFooter<T>(
  { level, isNested, interaction, message }: FooterState<T>,
  { theme, size: { columns, rows: height } }: ModalView,
): {
  readonly rows: readonly Row[]
  readonly cursor?: Position
} {
  const sentence = (text: string): readonly Row[] =>
    indentedRows(plainText(text).replaceAll(/\s+/gu, " "), columns)
      .slice(0, Math.max(1, Math.min(MAX_FOOTER_ROWS, height - 3)))
      .map((row) => theme.paint("ui_warn", row))
  switch (interaction.kind) {
    case "confirm":
      return {
        rows: [
          ...sentence(interaction.question),
          hintRow(
            theme,
            interaction.isAgreed
              ? "Enter does it, any other key does not"
              : "y and Enter do it, any other key does not",
            columns,
          ),
        ],
      }
    case "input": {
      const prompt = `${cutToColumns(interaction.label, Math.floor(columns / 2))}: `
      const field = interaction.field.draw({ prompt, columns, maxRows: 2 })
      return { ...field, rows: [...field.rows, hintRow(theme, "Enter saves it, Esc does not", columns)] }
    }
    case "busy":
      return {
        rows: [
          hintRow(theme, `Working on ${cutToColumns(interaction.choice.label, columns - 25)}… Esc cancels`, columns),
        ],
      }
    case "list": {
      const text = message === "" ? level.note : message
      const texts = keyTexts(level, isNested)
      const keys = height < ROOMY ? [joinedRow(texts, columns)] : joinedRows(texts, columns).slice(0, MAX_KEY_ROWS)
      return { rows: [...(text === "" ? [] : sentence(text)), ...keys.map((row) => hintRow(theme, row, columns))] }
    }
    default:
      return interaction satisfies never
  }
}

const MAX_FOOTER_ROWS = 3

function keyTexts<T>({ list, highlighted }: ListLevel<T>, isNested: boolean): readonly string[] {
  const actions = (list.actions ?? []).filter(
    ({ appliesTo }) => highlighted !== undefined && appliesTo?.(highlighted) !== false,
  )
  return [
    list.hint ?? "Enter chooses",
    ...actions.map(({ chord, label }) => `${chordText(chord)} ${label}`),
    ...(list.modes === undefined ? [] : ["Tab switches"]),
    ...(list.preview === undefined ? [] : ["Ctrl+F and Ctrl+B scroll"]),
    isNested || list.goesBack === true ? "Esc goes back" : "Esc leaves",
  ]
}

const ROOMY = 14
const MAX_KEY_ROWS = 3

function chordText(chord: string): string {
  return chord
    .split("+")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("+")
}
