import type { AttachedImage } from "../../app/services/attached-image.ts"
import { cutToColumns } from "../../terminal/text-layout.ts"
import { textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"

const MAX_NAME_COLUMNS = 28

/** The images that are sent with the message, on one row. What does not fit is counted. */
export function attachmentRow(images: readonly AttachedImage[], columns: number, theme: Theme): Row {
  const chips: string[] = []
  let used = 0
  for (const [index, { name, width, height }] of images.entries()) {
    const chip = `[image ${index + 1}: ${cutToColumns(name, MAX_NAME_COLUMNS)} ${width}×${height}]`
    const rest = images.length - index - 1
    const room = columns - 1 - (rest > 0 ? ` +${rest} more`.length : 0)
    if (used + textColumns(chip) > room) {
      chips.push(chips.length === 0 ? cutToColumns(chip, room) : `+${rest + 1} more`)
      if (chips.length > 1 || rest === 0) break
      chips.push(`+${rest} more`)
      break
    }
    chips.push(chip)
    used += textColumns(chip) + 1
  }
  return theme.paint("ui_accent", chips.join(" "))
}
