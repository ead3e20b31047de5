import { readFile, stat } from "node:fs/promises"
import { basename, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { explainSystemError, isNotFound } from "../base/system-error.ts"
import { mediaTypeOf, readImageFacts } from "../llm/vision/image-header.ts"
import type { Part } from "../protocol/message.ts"

/** An image of the person's disk that goes to the model with a message. */
export interface AttachedImage {
  readonly name: string
  readonly part: Part
  readonly width: number
  readonly height: number
}

/** Where relative paths and `~` begin. */
export interface ImagePlace {
  readonly cwd: string
  readonly userHome: string
}

/** Larger ones are no pictures to talk about; those below are made as small as the model needs them when they are sent. */
const MAX_BYTES = 50 * 1024 * 1024

/** Reads an image whose path was typed, pasted or dropped. What it is, its first bytes say, whatever its name. */
export async function readAttachedImage(written: string, place: ImagePlace): Promise<Result<AttachedImage>> {
  const path = pathIn(written, place)
  try {
    const facts = await stat(path)
    if (!facts.isFile()) return fail(`${path} is not a file`)
    if (facts.size > MAX_BYTES) {
      return fail(`${path} has ${Math.round(facts.size / 1024 / 1024)} MB; an image may have 50 MB at most`)
    }
    const bytes = await readFile(path)
    const image = readImageFacts(bytes)
    if (image === undefined) return fail(`${path} is not a PNG, JPEG, GIF or WebP image`)
    const url = `data:${mediaTypeOf(image)};base64,${bytes.toString("base64")}`
    const { width, height } = image
    return ok({ name: basename(path), part: { type: "image_url", image_url: { url } }, width, height })
  } catch (error) {
    return fail(isNotFound(error) ? `there is no file ${path}` : `${path} cannot be read: ${explainSystemError(error)}`)
  }
}

/** A line that is nothing but the path of an image, as a terminal writes it when a file is dropped on it. */
export function isImagePath(line: string): boolean {
  const isPath = /^(?:(['"])(?:~|\.{0,2}\/|[a-z]:\\)[^'"]*\1|(?:~|\.{0,2}\/|file:\/\/|[a-z]:\\)(?:\\.|[^\s\\])*)$/iu
  return isPath.test(line) && /\.(?:png|jpe?g|gif|webp)['"]?$/iu.test(line)
}

function pathIn(written: string, { cwd, userHome }: ImagePlace): string {
  const text = written.trim()
  if (text.startsWith("file://") && URL.canParse(text)) return fileURLToPath(text)
  const quoted = /^(['"]).*\1$/su.test(text) ? text.slice(1, -1) : undefined
  // Terminals put a backslash before spaces; on Windows it is a part of paths.
  const plain = quoted ?? (process.platform === "win32" ? text : text.replaceAll(/\\(.)/gsu, "$1"))
  return /^~(?=\/|$)/u.test(plain) ? join(userHome, plain.slice(1)) : resolve(cwd, plain)
}
