import { createHash } from "node:crypto"
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs"

/**
 * Describes every entry below a directory, by path: type, permission bits and a hash of the content. Names are latin1, to
 * preserve their bytes. `skip` lists names to leave out at every level.
 */
export function directoryContents(root: string, skip: readonly string[] = []): Readonly<Record<string, string>> {
  const contents: Record<string, string> = {}
  const visit = (path: Buffer, key: string): void => {
    const stats = lstatSync(path)
    const mode = stats.mode.toString(8)
    if (stats.isSymbolicLink()) contents[key] = `link to ${readlinkSync(path, "latin1")}`
    else if (stats.isFile()) contents[key] = `${mode} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`
    else if (stats.isDirectory()) {
      contents[key] = mode
      for (const name of readdirSync(path, "buffer")) {
        const text = name.toString("latin1")
        if (!skip.includes(text)) visit(Buffer.concat([path, Buffer.from("/"), name]), `${key}/${text}`)
      }
    } else contents[key] = `${mode} special`
  }
  visit(Buffer.from(root), "")
  return contents
}
