export * from '../../protocol/encoded.ts'
