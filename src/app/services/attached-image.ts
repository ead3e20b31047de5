import { readFile, stat } from "node:fs/promises"
import { basename, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import { mediaTypeOf, readImageHeader } from "../../llm/vision/image-header.ts"
import type { Part } from "../../protocol/message.ts"

/** An image file that is sent to the model with a user message. */
export interface AttachedImage {
  readonly name: string
  readonly part: Part
  readonly width: number
  readonly height: number
}

/** The directories that relative paths and `~` refer to. */
export interface PathContext {
  readonly cwd: string
  readonly userHome: string
}

/** Larger files are refused. Smaller images are scaled down to what the model accepts when they are sent. */
const MAX_BYTES = 50 * 1024 * 1024

/** Reads an image whose path was typed, pasted or dropped. The type is taken from the file's header, not from its name. */
export async function readAttachedImage(typedPath: string, context: PathContext): Promise<Result<AttachedImage>> {
  const path = resolveTypedPath(typedPath, context)
  try {
    const facts = await stat(path)
    if (!facts.isFile()) return fail(`${path} is not a file`)
    if (facts.size > MAX_BYTES) {
      return fail(`${path} is ${Math.round(facts.size / 1024 / 1024)} MB; the limit for an image is 50 MB`)
    }
    const bytes = await readFile(path)
    const image = readImageHeader(bytes)
    if (image === undefined) return fail(`${path} is not a PNG, JPEG, GIF or WebP image; convert it to one of them`)
    const url = `data:${mediaTypeOf(image)};base64,${bytes.toString("base64")}`
    const { width, height } = image
    return ok({ name: basename(path), part: { type: "image_url", image_url: { url } }, width, height })
  } catch (error) {
    return fail(isNotFound(error) ? `${path} does not exist` : `${path} cannot be read: ${explainSystemError(error)}`)
  }
}

/** True for a line that consists of the path of an image only, as a terminal inserts it when a file is dropped on it. */
export function isImagePath(line: string): boolean {
  const isPath = /^(?:(['"])(?:~|\.{0,2}\/|[a-z]:\\)[^'"]*\1|(?:~|\.{0,2}\/|file:\/\/|[a-z]:\\)(?:\\.|[^\s\\])*)$/iu
  return isPath.test(line) && /\.(?:png|jpe?g|gif|webp)['"]?$/iu.test(line)
}

function resolveTypedPath(typedPath: string, { cwd, userHome }: PathContext): string {
  const text = typedPath.trim()
  if (text.startsWith("file://") && URL.canParse(text)) return fileURLToPath(text)
  const quoted = /^(['"]).*\1$/su.test(text) ? text.slice(1, -1) : undefined
  // Terminals escape spaces with a backslash; on Windows a backslash separates directories.
  const plain = quoted ?? (process.platform === "win32" ? text : text.replaceAll(/\\(.)/gsu, "$1"))
  return /^~(?=\/|$)/u.test(plain) ? join(userHome, plain.slice(1)) : resolve(cwd, plain)
}
