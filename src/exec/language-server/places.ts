import { join } from "node:path"

/** Where Hermes keeps language servers and what it knows of them. */
export function serversDirectory(home: string): string {
  return join(home, "lsp")
}

/** The packages that `hermes lsp install` has put there. */
export function modulesDirectory(home: string): string {
  return join(serversDirectory(home), "node_modules")
}

export function brokenFile(home: string): string {
  return join(serversDirectory(home), "broken.json")
}
