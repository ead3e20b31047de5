import { findTrustedProgram } from "../base/find-program.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { runProgram } from "./run-program.ts"

/** How a desktop is asked for the content of its clipboard. */
interface ClipboardReader {
  readonly program: string
  readonly image: readonly string[]
  readonly text: readonly string[]
  /** Turns the output into the bytes of the image. */
  readonly decodeImage: (output: Buffer) => Buffer
}

const TIME_LIMIT_MS = 5000

export interface ClipboardOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly platform?: NodeJS.Platform
  /** Finds a program on the PATH; tests pass another. */
  readonly find?: (name: string, path: string) => string | undefined
}

/**
 * Reads an image (PNG) or the text of the clipboard; empty when it has no such content. Fails with a sentence when no program can read
 * it, as on a machine without a desktop.
 */
export async function readClipboard(kind: "image" | "text", options: ClipboardOptions): Promise<Result<Buffer>> {
  const reader = readersFor(options).find(({ program }) => findReader(program, options) !== undefined)
  const path = reader === undefined ? undefined : findReader(reader.program, options)
  if (reader === undefined || path === undefined) return fail(missingText(options))
  const { environment, signal } = options
  const result = await runProgram([path, ...reader[kind]], { environment, signal, timeoutMs: TIME_LIMIT_MS })
  if (result.ended === "timed-out") return fail(`The clipboard could not be read: ${reader.program} did not answer.`)
  // These programs fail when the clipboard has no content of the wanted type.
  if (result.code !== 0) return ok(Buffer.alloc(0))
  return ok(kind === "image" ? reader.decodeImage(result.stdout) : result.stdout)
}

const asIs = (output: Buffer): Buffer => output

const WAYLAND: ClipboardReader = {
  program: "wl-paste",
  image: ["--no-newline", "--type", "image/png"],
  text: ["--no-newline"],
  decodeImage: asIs,
}

const X11: ClipboardReader = {
  program: "xclip",
  image: ["-selection", "clipboard", "-t", "image/png", "-o"],
  text: ["-selection", "clipboard", "-o"],
  decodeImage: asIs,
}

const MAC: ClipboardReader = {
  program: "osascript",
  image: ["-e", "get the clipboard as «class PNGf»"],
  text: ["-e", "get the clipboard as text"],
  // «data PNGf89504E47…»
  decodeImage: (output) => Buffer.from(/PNGf([0-9A-F]+)/u.exec(output.toString("latin1"))?.[1] ?? "", "hex"),
}

const WINDOWS: ClipboardReader = {
  program: "powershell.exe",
  image: [
    "-NoProfile",
    "-Command",
    "$i = Get-Clipboard -Format Image; if ($i -eq $null) { exit 1 }; $m = New-Object IO.MemoryStream; $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray())",
  ],
  text: ["-NoProfile", "-Command", "Get-Clipboard -Raw"],
  decodeImage: (output) => Buffer.from(output.toString("latin1"), "base64"),
}

function readersFor({ environment, platform = process.platform }: ClipboardOptions): readonly ClipboardReader[] {
  if (platform === "darwin") return [MAC]
  if (platform === "win32" || (environment["WSL_DISTRO_NAME"] ?? "") !== "") return [WINDOWS]
  return [
    ...((environment["WAYLAND_DISPLAY"] ?? "") === "" ? [] : [WAYLAND]),
    ...((environment["DISPLAY"] ?? "") === "" ? [] : [X11]),
  ]
}

function findReader(program: string, { environment, find = findTrustedProgram }: ClipboardOptions): string | undefined {
  // On Windows and in WSL the program is outside the directories that belong to root.
  if (program === WINDOWS.program) return program
  return find(program, environment["PATH"] ?? "")
}

function missingText(options: ClipboardOptions): string {
  const programs = readersFor(options).map(({ program }) => (program === WAYLAND.program ? "wl-clipboard" : program))
  return programs.length === 0
    ? "There is no clipboard here: no desktop is connected. Attach an image with /image PATH."
    : `The clipboard cannot be read. Install ${programs.join(" or ")}, or attach an image with /image PATH.`
}
