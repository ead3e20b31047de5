import { readAttachedImage } from "../../app/services/attached-image.ts"
import type { AttachedImage } from "../../app/services/attached-image.ts"
import type { Clock } from "../../base/clock.ts"
import { localStamp } from "../../base/local-stamp.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import { readClipboard } from "../../exec/clipboard.ts"
import type { ClipboardOptions } from "../../exec/clipboard.ts"
import { writeNumberedFile } from "./numbered-file.ts"

export type ClipboardContent =
  | { readonly kind: "image"; readonly image: AttachedImage }
  | { readonly kind: "text"; readonly text: string }

export interface ClipboardRequest extends Pick<ClipboardOptions, "find"> {
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  /** Take the text if there is no image. */
  readonly orText: boolean
  readonly signal: AbortSignal
}

const MAX_TEXT_BYTES = 10_000_000

/** Reads the clipboard; an image is saved in `images/`. The error is a sentence. */
export async function readClipboardContent(request: ClipboardRequest): Promise<Result<ClipboardContent>> {
  const { signal, home } = request
  const { find } = request
  const options = { environment: request.environment.toObject(), signal, ...(find === undefined ? {} : { find }) }
  const image = await readClipboard("image", options)
  if (!image.ok) return image
  if (image.value.length > 0) {
    const path = saveImage(image.value, request)
    if (!path.ok) return path
    const attached = await readAttachedImage(path.value, { cwd: home.path, userHome: home.userHome })
    return attached.ok
      ? ok({ kind: "image", image: attached.value })
      : fail(`The image was not attached: ${attached.error}.`)
  }
  const text = request.orText ? await readClipboard("text", options) : ok(Buffer.alloc(0))
  if (!text.ok) return text
  if (text.value.length > 0) return ok({ kind: "text", text: text.value.subarray(0, MAX_TEXT_BYTES).toString("utf8") })
  return fail(
    request.orText
      ? "The clipboard is empty. Copy a text or an image first."
      : "The clipboard has no image. Copy one, or attach a file with /image PATH.",
  )
}

function saveImage(bytes: Buffer, { home, clock }: ClipboardRequest): Result<string> {
  const directory = home.file("images")
  const { date, time } = localStamp(clock.now())
  try {
    return ok(
      writeNumberedFile(directory, bytes, { first: 1, nameOf: (number) => `clip_${date}_${time}_${number}.png` }).path,
    )
  } catch (error) {
    return fail(`The image could not be saved in ${directory}: ${explainSystemError(error)}.`)
  }
}
