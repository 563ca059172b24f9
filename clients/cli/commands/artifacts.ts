import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { addArtifactsGet } from './artifacts-get.ts'
import { addArtifactsList } from './artifacts-list.ts'
import { addArtifactsPut } from './artifacts-put.ts'
import { addArtifactsSweep } from './artifacts-sweep.ts'
import { addArtifactsVerify } from './artifacts-verify.ts'

export function addArtifacts(program: Command, context: Context): void {
  const artifacts = program.command('artifacts').helpCommand(false).description('bytes by the digest of their content')
  for (const add of [addArtifactsList, addArtifactsGet, addArtifactsPut, addArtifactsVerify, addArtifactsSweep])
    add(artifacts, context)
}
