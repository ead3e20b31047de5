// Written by scripts/generate-tool-manifest.ts from the tools themselves; run `npm run generate` after changing one.
import type { ManifestEntry } from "../toolkit/builtin-entries.ts"

export const TOOL_MANIFEST: Readonly<Record<string, ManifestEntry>> = {
  "memory": {
    "name": "memory",
    "toolset": "memory",
    "description": "Keep durable facts across sessions. Save corrections, preferences and facts about the person (target user) or the environment and projects (target memory) as short declarative sentences. Do not save task progress, logs or what is stale in a week. The store is small and bounded.",
    "parameters": {
      "type": "object",
      "properties": {
        "action": {
          "type": "string",
          "enum": [
            "add",
            "read"
          ],
          "description": "add a fact, or read what is kept"
        },
        "target": {
          "default": "memory",
          "description": "memory: environment and projects; user: the person",
          "type": "string",
          "enum": [
            "memory",
            "user"
          ]
        },
        "content": {
          "description": "The fact, for add",
          "type": "string"
        }
      },
      "required": [
        "action"
      ]
    },
    "marks": {
      "emoji": "🧠",
      "housekeeping": true,
      "inChildren": false
    }
  },
  "read_file": {
    "name": "read_file",
    "toolset": "file",
    "description": "Read a text file with numbered lines (`12|text`). Use this instead of cat, head or tail. Page through long files with offset (first line, from 1) and limit (at most 2000 lines). A missing file is answered with similar names. Images and other binary files are not returned; very large results are refused with advice to use a smaller limit.",
    "parameters": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string",
          "minLength": 1,
          "description": "File to read; relative paths start at the working directory"
        },
        "offset": {
          "default": 1,
          "description": "First line, counted from 1",
          "type": "integer"
        },
        "limit": {
          "default": 500,
          "description": "How many lines, at most 2000",
          "type": "integer"
        }
      },
      "required": [
        "path"
      ]
    },
    "marks": {
      "parallel": "by-path",
      "maxResultChars": "unlimited",
      "emoji": "📖",
      "idempotent": true,
      "inScripts": true,
      "provenance": "file"
    }
  },
  "search_files": {
    "name": "search_files",
    "toolset": "file",
    "description": "Search file contents by regular expression, or find files by name (target files, glob pattern such as *.ts, newest first). Use this instead of grep, rg, find or ls. Ignored and hidden files are left out. output_mode content shows matching lines, files_only the paths, count the number per file; page with limit and offset.",
    "parameters": {
      "type": "object",
      "properties": {
        "pattern": {
          "type": "string",
          "minLength": 1,
          "description": "Regular expression (content) or glob (files)"
        },
        "target": {
          "type": "string",
          "enum": [
            "content",
            "files"
          ]
        },
        "path": {
          "default": ".",
          "description": "Directory or file to search",
          "type": "string"
        },
        "file_glob": {
          "description": "Only files whose name matches this glob",
          "type": "string"
        },
        "limit": {
          "default": 50,
          "type": "integer"
        },
        "offset": {
          "default": 0,
          "type": "integer"
        },
        "output_mode": {
          "default": "content",
          "type": "string",
          "enum": [
            "content",
            "files_only",
            "count"
          ]
        },
        "context": {
          "default": 0,
          "description": "Lines before and after each match",
          "type": "integer"
        }
      },
      "required": [
        "pattern"
      ]
    },
    "marks": {
      "parallel": "safe",
      "emoji": "🔎",
      "idempotent": true,
      "inScripts": true,
      "provenance": "file"
    }
  },
  "terminal": {
    "name": "terminal",
    "toolset": "terminal",
    "description": "Run a shell command and return its output and exit code. The call returns when the command ends, so give a generous timeout for slow ones. Each command starts in the working directory, without a terminal: no interactive prompts. Do not use it to read, search or write files; the file tools do that better.",
    "parameters": {
      "type": "object",
      "properties": {
        "command": {
          "type": "string",
          "minLength": 1,
          "description": "The command line, run by bash"
        },
        "timeout": {
          "description": "Seconds before it is stopped (default 180)",
          "type": "integer",
          "minimum": 1,
          "maximum": 600
        },
        "workdir": {
          "description": "Directory to run it in",
          "type": "string",
          "minLength": 1
        }
      },
      "required": [
        "command"
      ]
    },
    "marks": {
      "emoji": "💻",
      "inScripts": true,
      "provenance": "command"
    }
  },
  "write_file": {
    "name": "write_file",
    "toolset": "file",
    "description": "Write a text file: replaces the whole content, or creates the file and its parent directories. Use this instead of echo or here-documents in the shell. Line endings and mode of an existing file are kept.",
    "parameters": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string",
          "minLength": 1,
          "description": "File to write; relative paths start at the working directory"
        },
        "content": {
          "type": "string",
          "description": "The complete new content"
        }
      },
      "required": [
        "path",
        "content"
      ]
    },
    "marks": {
      "parallel": "by-path",
      "emoji": "✍️",
      "inScripts": true
    }
  }
}
