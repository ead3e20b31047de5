import type { StoredPrompt } from "./catalogue/stored-server.ts"
import type { McpServer } from "./mcp-servers.ts"
import { mcpToolName } from "./tool-names.ts"

/** A prompt of a server as a slash command. */
export interface PromptCommand {
  readonly server: McpServer
  readonly prompt: StoredPrompt
  /** Without the slash, in lower case as slash commands are. */
  readonly command: string
}

export function promptCommands(servers: readonly McpServer[]): readonly PromptCommand[] {
  const taken = new Set<string>()
  return servers.flatMap((server) =>
    (server.stored()?.prompts ?? []).map((prompt) => {
      const name = mcpToolName(server.settings.name, prompt.name, taken)
      taken.add(name)
      return { server, prompt, command: name.toLowerCase() }
    }),
  )
}

/** Reads `name=value` words; other words fill the remaining arguments in order, the last one with the rest of the line. */
export function promptArguments({ arguments: declared }: StoredPrompt, line: string): Record<string, string> {
  const values: Record<string, string> = {}
  const words = line.split(/\s+/u).filter((word) => {
    const [, name = "", value = ""] = /^(\w+)=(.*)$/u.exec(word) ?? []
    const isNamed = declared.some((argument) => argument.name === name)
    if (isNamed) values[name] = value
    return word !== "" && !isNamed
  })
  const open = declared.filter(({ name }) => values[name] === undefined)
  for (const [index, { name }] of open.entries()) {
    const given = index === open.length - 1 ? words.slice(index).join(" ") : words[index]
    if (given !== undefined && given !== "") values[name] = given
  }
  return values
}
