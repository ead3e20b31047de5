import { createHash } from "node:crypto"
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs"

/**
 * Every entry below a directory by its path, with type, permission bits and content; names as bytes. `skip` names what is left
 * out wherever it stands.
 */
export function pictureOf(root: string, skip: readonly string[] = []): Readonly<Record<string, string>> {
  const picture: Record<string, string> = {}
  const look = (path: Buffer, shown: string): void => {
    const stats = lstatSync(path)
    const mode = stats.mode.toString(8)
    if (stats.isSymbolicLink()) picture[shown] = `link to ${readlinkSync(path, "latin1")}`
    else if (stats.isFile()) picture[shown] = `${mode} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`
    else if (stats.isDirectory()) {
      picture[shown] = mode
      for (const name of readdirSync(path, "buffer")) {
        const text = name.toString("latin1")
        if (!skip.includes(text)) look(Buffer.concat([path, Buffer.from("/"), name]), `${shown}/${text}`)
      }
    } else picture[shown] = `${mode} special`
  }
  look(Buffer.from(root), "")
  return picture
}
