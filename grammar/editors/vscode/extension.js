// Starts `dcrfdsl lsp` for .dcrf files and talks to it by standard input and output. What the server can do is its own
// business; colours without a server come from syntaxes/dcrf.tmLanguage.json.
"use strict";

const vscode = require("vscode");

/** @type {LanguageClient | undefined} */
let client;

async function start() {
  const command = vscode.workspace.getConfiguration("dcrf").get("command", "dcrfdsl");
  // without a transport the client uses the standard streams, and adds no argument of its own
  const server = { command, args: ["lsp"] };
  const options = {
    documentSelector: [
      { scheme: "file", language: "dcrf" },
      { scheme: "untitled", language: "dcrf" },
    ],
  };
  let LanguageClient;
  try {
    ({ LanguageClient } = require("vscode-languageclient/node"));
  } catch {
    vscode.window.showWarningMessage("This package of dcrf has colours alone: it was made without `npm install`.");
    return;
  }
  client = new LanguageClient("dcrf", "dcrf", server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const remedy = "Install it in a clone of dcrfdsl by `pip install -e '.[lsp]'`, or say in the setting dcrf.command where it is.";
    vscode.window.showWarningMessage(`\`${command} lsp\` does not start: ${error.message}. ${remedy}`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("dcrf.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => (event.affectsConfiguration("dcrf.command") ? restart() : undefined)),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
