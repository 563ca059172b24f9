export * from '../../protocol/values/encoded.ts'
