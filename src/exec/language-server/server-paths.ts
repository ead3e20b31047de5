import { join } from "node:path"

/** The directory of installed language servers and their state. */
export function serversDirectory(home: string): string {
  return join(home, "lsp")
}

/** The npm packages that `hermes lsp install` has installed. */
export function serverModulesDirectory(home: string): string {
  return join(serversDirectory(home), "node_modules")
}

export function brokenServersFile(home: string): string {
  return join(serversDirectory(home), "broken.json")
}
