import type { CommandTree } from "../command.ts"
import { renderBash } from "./bash.ts"
import { completionNodes } from "./completion-nodes.ts"
import { renderFish } from "./fish.ts"
import { renderZsh } from "./zsh.ts"

const RENDERERS = { bash: renderBash, zsh: renderZsh, fish: renderFish } as const
export type Shell = keyof typeof RENDERERS

export function isShell(name: string): name is Shell {
  return Object.hasOwn(RENDERERS, name)
}

/** Renders the completion script for a shell. */
export function renderCompletion(shell: Shell, tree: CommandTree): string {
  return RENDERERS[shell](completionNodes(tree))
}
