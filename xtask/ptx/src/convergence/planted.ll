; ModuleID = 'planted.a5368dbc1c786fc5-cgu.0'
source_filename = "planted.a5368dbc1c786fc5-cgu.0"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

module asm "//.rungs.bounds planted 0 0 0 0"
module asm ".extern .shared .align 128 .b8 RUNGS_DYNAMIC_SHARED[];"

; Function Attrs: norecurse nounwind
define ptx_kernel void @planted(ptr noundef captures(none) %data_ptr, i32 noundef %data_len, i32 noundef %a, i32 noundef %b) unnamed_addr #0 !dbg !10 {
start:
  %0 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !15
  %1 = tail call i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !39
  %_10.i = mul i32 %0, %1, !dbg !45
  %2 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !51
  %i.i = add i32 %_10.i, %2, !dbg !57
  %_6.i = icmp ult i32 %i.i, %a, !dbg !60
  %_14.i = zext i32 %i.i to i64
  %3 = getelementptr i32, ptr %data_ptr, i64 %_14.i
  %_7.i = load i32, ptr %3, align 4, !dbg !62
  %4 = icmp ult i32 %_7.i, %b
  %or.cond = select i1 %_6.i, i1 %4, i1 false, !dbg !60
  br i1 %or.cond, label %bb4.i, label %bb8.critedge.i, !dbg !60

bb4.i:                                            ; preds = %start
  store i32 8, ptr %3, align 4, !dbg !63
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !77
  %_6.i.i = add nuw i32 %i.i, 1, !dbg !84
  %_8.i.i = load i32, ptr %3, align 4, !dbg !85, !noundef !14
  %_7.i.i = add i32 %_8.i.i, 3, !dbg !91
  %_17.i.i = zext i32 %_6.i.i to i64, !dbg !92
  %5 = getelementptr i32, ptr %data_ptr, i64 %_17.i.i, !dbg !97
  store i32 %_7.i.i, ptr %5, align 4, !dbg !108
  store i32 8, ptr %3, align 4, !dbg !110
  br label %_RINvCsebqnrZA9AaL_7planted4bodyNtB2_3OneEB2_.exit, !dbg !116

bb8.critedge.i:                                   ; preds = %start
  %_3.i.i3 = add i32 %_7.i, 1, !dbg !117
  store i32 %_3.i.i3, ptr %3, align 4, !dbg !120
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !123
  %_6.i.i4 = add i32 %i.i, 1, !dbg !127
  %_8.i.i5 = load i32, ptr %3, align 4, !dbg !128, !noundef !14
  %_7.i.i6 = add i32 %_8.i.i5, 3, !dbg !131
  %_17.i.i7 = zext i32 %_6.i.i4 to i64, !dbg !132
  %6 = getelementptr i32, ptr %data_ptr, i64 %_17.i.i7, !dbg !135
  store i32 %_7.i.i6, ptr %6, align 4, !dbg !138
  br label %_RINvCsebqnrZA9AaL_7planted4bodyNtB2_3OneEB2_.exit, !dbg !140

_RINvCsebqnrZA9AaL_7planted4bodyNtB2_3OneEB2_.exit: ; preds = %bb4.i, %bb8.critedge.i
  ret void, !dbg !141
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() unnamed_addr #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() unnamed_addr #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() unnamed_addr #1

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2

attributes #0 = { norecurse nounwind "target-cpu"="sm_90" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}
!llvm.dbg.cu = !{!4, !6, !8}

!0 = !{i32 8, !"PIC Level", i32 2}
!1 = !{i32 7, !"Dwarf Version", i32 4}
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{!"rustc version 1.95.0 (59807616e 2026-04-14)"}
!4 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !5, producer: "clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)
!5 = !DIFile(filename: "src/lib.rs/@/planted.a5368dbc1c786fc5-cgu.0", directory: "")
!6 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !7, producer: "clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)
!7 = !DIFile(filename: "library/core/src/lib.rs/@/core.2c0002ff932f3e09-cgu.0", directory: "library/core")
!8 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !9, producer: "clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)
!9 = !DIFile(filename: "simt/src/lib.rs/@/simt.e05694f2d04ad537-cgu.0", directory: "simt")
!10 = distinct !DISubprogram(name: "planted", scope: !12, file: !11, line: 25, type: !13, scopeLine: 25, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!11 = !DIFile(filename: "src/lib.rs", directory: "", checksumkind: CSK_MD5, checksum: "f7ccf70e522d6dc86e8de00006aa1c47")
!12 = !DINamespace(name: "planted", scope: null)
!13 = !DISubroutineType(types: !14)
!14 = !{}
!15 = !DILocation(line: 83, column: 5, scope: !16, inlinedAt: !21)
!16 = distinct !DISubprogram(name: "_block_idx_x", linkageName: "_RNvNtNtCs3Md5TvKWJZt_4core9core_arch5nvptx12__block_idx_x", scope: !18, file: !17, line: 82, type: !13, scopeLine: 82, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!17 = !DIFile(filename: "src/../../stdarch/crates/core_arch/src/nvptx/mod.rs", directory: "library/core", checksumkind: CSK_MD5, checksum: "16a4dad78f062ae677bda6260d25b363")
!18 = !DINamespace(name: "nvptx", scope: !19)
!19 = !DINamespace(name: "core_arch", scope: !20)
!20 = !DINamespace(name: "core", scope: null)
!21 = distinct !DILocation(line: 93, column: 37, scope: !22, inlinedAt: !27)
!22 = distinct !DISubprogram(name: "register", linkageName: "_RNvXNtCsjg97baH0bGJ_4simt3ptxNtB2_3PtxNtNtB4_7machine7Machine8register", scope: !24, file: !23, line: 87, type: !13, scopeLine: 87, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!23 = !DIFile(filename: "src/ptx/mod.rs", directory: "simt", checksumkind: CSK_MD5, checksum: "34e28199c02a946b07bd23afff5e5f6c")
!24 = !DINamespace(name: "{impl#0}", scope: !25)
!25 = !DINamespace(name: "ptx", scope: !26)
!26 = !DINamespace(name: "simt", scope: null)
!27 = distinct !DILocation(line: 11, column: 13, scope: !28, inlinedAt: !31)
!28 = distinct !DISubprogram(name: "block_idx_x", linkageName: "_RNvNtCsjg97baH0bGJ_4simt6thread11block_idx_x", scope: !30, file: !29, line: 10, type: !13, scopeLine: 10, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!29 = !DIFile(filename: "src/thread.rs", directory: "simt", checksumkind: CSK_MD5, checksum: "39ed0b9f24742620203149e4a57cf604")
!30 = !DINamespace(name: "thread", scope: !26)
!31 = distinct !DILocation(line: 49, column: 5, scope: !32, inlinedAt: !33)
!32 = distinct !DISubprogram(name: "index_1d", linkageName: "_RNvNtCsjg97baH0bGJ_4simt6thread8index_1d", scope: !30, file: !29, line: 48, type: !13, scopeLine: 48, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!33 = distinct !DILocation(line: 18, column: 13, scope: !34, inlinedAt: !35)
!34 = distinct !DISubprogram(name: "body<planted::One>", linkageName: "_RINvCsebqnrZA9AaL_7planted4bodyNtB2_3OneEB2_", scope: !12, file: !11, line: 17, type: !13, scopeLine: 17, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!35 = distinct !DILocation(line: 26, column: 53, scope: !36, inlinedAt: !37)
!36 = distinct !DISubprogram(name: "planted_body", linkageName: "_RNvCsebqnrZA9AaL_7planted12planted_body", scope: !12, file: !11, line: 25, type: !13, scopeLine: 25, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!37 = !DILocation(line: 25, column: 1, scope: !38)
!38 = !DILexicalBlockFile(scope: !10, file: !11, discriminator: 2)
!39 = !DILocation(line: 62, column: 5, scope: !40, inlinedAt: !41)
!40 = distinct !DISubprogram(name: "_block_dim_x", linkageName: "_RNvNtNtCs3Md5TvKWJZt_4core9core_arch5nvptx12__block_dim_x", scope: !18, file: !17, line: 61, type: !13, scopeLine: 61, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!41 = distinct !DILocation(line: 96, column: 40, scope: !22, inlinedAt: !42)
!42 = distinct !DILocation(line: 11, column: 13, scope: !43, inlinedAt: !44)
!43 = distinct !DISubprogram(name: "block_dim_x", linkageName: "_RNvNtCsjg97baH0bGJ_4simt6thread11block_dim_x", scope: !30, file: !29, line: 10, type: !13, scopeLine: 10, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!44 = distinct !DILocation(line: 49, column: 32, scope: !32, inlinedAt: !33)
!45 = !DILocation(line: 2533, column: 13, scope: !46, inlinedAt: !50)
!46 = distinct !DISubprogram(name: "wrapping_mul", linkageName: "_RNvMs6_NtCs3Md5TvKWJZt_4core3numm12wrapping_mul", scope: !48, file: !47, line: 2532, type: !13, scopeLine: 2532, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!47 = !DIFile(filename: "src/num/uint_macros.rs", directory: "library/core", checksumkind: CSK_MD5, checksum: "de2f29a3485fc28d710ba6c3062e6efa")
!48 = !DINamespace(name: "{impl#8}", scope: !49)
!49 = !DINamespace(name: "num", scope: !20)
!50 = distinct !DILocation(line: 49, column: 19, scope: !32, inlinedAt: !33)
!51 = !DILocation(line: 125, column: 5, scope: !52, inlinedAt: !53)
!52 = distinct !DISubprogram(name: "_thread_idx_x", linkageName: "_RNvNtNtCs3Md5TvKWJZt_4core9core_arch5nvptx13__thread_idx_x", scope: !18, file: !17, line: 124, type: !13, scopeLine: 124, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!53 = distinct !DILocation(line: 90, column: 38, scope: !22, inlinedAt: !54)
!54 = distinct !DILocation(line: 11, column: 13, scope: !55, inlinedAt: !56)
!55 = distinct !DISubprogram(name: "thread_idx_x", linkageName: "_RNvNtCsjg97baH0bGJ_4simt6thread12thread_idx_x", scope: !30, file: !29, line: 10, type: !13, scopeLine: 10, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!56 = distinct !DILocation(line: 49, column: 60, scope: !32, inlinedAt: !33)
!57 = !DILocation(line: 2457, column: 13, scope: !58, inlinedAt: !59)
!58 = distinct !DISubprogram(name: "wrapping_add", linkageName: "_RNvMs6_NtCs3Md5TvKWJZt_4core3numm12wrapping_add", scope: !48, file: !47, line: 2456, type: !13, scopeLine: 2456, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!59 = distinct !DILocation(line: 49, column: 47, scope: !32, inlinedAt: !33)
!60 = !DILocation(line: 19, column: 13, scope: !61, inlinedAt: !35)
!61 = distinct !DILexicalBlock(scope: !34, file: !11, line: 18, column: 5)
!62 = !DILocation(line: 0, scope: !61, inlinedAt: !35)
!63 = !DILocation(line: 195, column: 18, scope: !64, inlinedAt: !65)
!64 = distinct !DISubprogram(name: "store_global<u32>", linkageName: "_RINvXNtCsjg97baH0bGJ_4simt3ptxNtB3_3PtxNtNtB5_7machine7Machine12store_globalmECsebqnrZA9AaL_7planted", scope: !24, file: !23, line: 194, type: !13, scopeLine: 194, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!65 = distinct !DILocation(line: 82, column: 18, scope: !66, inlinedAt: !70)
!66 = distinct !DISubprogram(name: "set<u32>", linkageName: "_RNvMs2_NtCsjg97baH0bGJ_4simt6globalINtB5_6GlobalmE3setCsebqnrZA9AaL_7planted", scope: !68, file: !67, line: 80, type: !13, scopeLine: 80, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!67 = !DIFile(filename: "src/global.rs", directory: "simt", checksumkind: CSK_MD5, checksum: "22bc3472169c78e53c4a74e40a6a27d2")
!68 = !DINamespace(name: "Global", scope: !69)
!69 = !DINamespace(name: "global", scope: !26)
!70 = distinct !DILocation(line: 7, column: 10, scope: !71, inlinedAt: !72)
!71 = distinct !DISubprogram(name: "helper", linkageName: "_RNvCsebqnrZA9AaL_7planted6helper", scope: !12, file: !11, line: 6, type: !13, scopeLine: 6, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!72 = distinct !DILocation(line: 14, column: 58, scope: !73, inlinedAt: !75)
!73 = distinct !DISubprogram(name: "step", linkageName: "_RNvXCsebqnrZA9AaL_7plantedNtB2_3OneNtB2_4Step4step", scope: !74, file: !11, line: 14, type: !13, scopeLine: 14, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!74 = !DINamespace(name: "{impl#0}", scope: !12)
!75 = distinct !DILocation(line: 21, column: 5, scope: !76, inlinedAt: !35)
!76 = distinct !DILexicalBlock(scope: !61, file: !11, line: 19, column: 5)
!77 = !DILocation(line: 55, column: 5, scope: !78, inlinedAt: !79)
!78 = distinct !DISubprogram(name: "_syncthreads", linkageName: "_RNvNtNtCs3Md5TvKWJZt_4core9core_arch5nvptx12__syncthreads", scope: !18, file: !17, line: 54, type: !13, scopeLine: 54, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!79 = distinct !DILocation(line: 119, column: 18, scope: !80, inlinedAt: !81)
!80 = distinct !DISubprogram(name: "sync_threads", linkageName: "_RNvXNtCsjg97baH0bGJ_4simt3ptxNtB2_3PtxNtNtB4_7machine7Machine12sync_threads", scope: !24, file: !23, line: 118, type: !13, scopeLine: 118, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!81 = distinct !DILocation(line: 64, column: 5, scope: !82, inlinedAt: !83)
!82 = distinct !DISubprogram(name: "sync_threads", linkageName: "_RNvNtCsjg97baH0bGJ_4simt6thread12sync_threads", scope: !30, file: !29, line: 63, type: !13, scopeLine: 63, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!83 = distinct !DILocation(line: 8, column: 5, scope: !71, inlinedAt: !72)
!84 = !DILocation(line: 9, column: 14, scope: !71, inlinedAt: !72)
!85 = !DILocation(line: 190, column: 18, scope: !86, inlinedAt: !87)
!86 = distinct !DISubprogram(name: "load_global<u32>", linkageName: "_RINvXNtCsjg97baH0bGJ_4simt3ptxNtB3_3PtxNtNtB5_7machine7Machine11load_globalmECsebqnrZA9AaL_7planted", scope: !24, file: !23, line: 189, type: !13, scopeLine: 189, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!87 = distinct !DILocation(line: 66, column: 18, scope: !88, inlinedAt: !90)
!88 = !DILexicalBlockFile(scope: !89, file: !67, discriminator: 2)
!89 = distinct !DISubprogram(name: "get<u32>", linkageName: "_RNvMs2_NtCsjg97baH0bGJ_4simt6globalINtB5_6GlobalmE3getCsebqnrZA9AaL_7planted", scope: !68, file: !67, line: 64, type: !13, scopeLine: 64, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!90 = distinct !DILocation(line: 9, column: 26, scope: !71, inlinedAt: !72)
!91 = !DILocation(line: 9, column: 21, scope: !71, inlinedAt: !72)
!92 = !DILocation(line: 170, column: 31, scope: !93, inlinedAt: !94)
!93 = distinct !DISubprogram(name: "at<u32>", linkageName: "_RNvMs2_NtCsjg97baH0bGJ_4simt6globalINtB5_6GlobalmE2atCsebqnrZA9AaL_7planted", scope: !68, file: !67, line: 166, type: !13, scopeLine: 166, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!94 = distinct !DILocation(line: 82, column: 45, scope: !95, inlinedAt: !96)
!95 = !DILexicalBlockFile(scope: !66, file: !67, discriminator: 2)
!96 = distinct !DILocation(line: 9, column: 10, scope: !71, inlinedAt: !72)
!97 = !DILocation(line: 470, column: 18, scope: !98, inlinedAt: !103)
!98 = distinct !DISubprogram(name: "wrapping_offset<u32>", linkageName: "_RNvMNtNtCs3Md5TvKWJZt_4core3ptr7mut_ptrOm15wrapping_offsetCsebqnrZA9AaL_7planted", scope: !100, file: !99, line: 465, type: !13, scopeLine: 465, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!99 = !DIFile(filename: "src/ptr/mut_ptr.rs", directory: "library/core", checksumkind: CSK_MD5, checksum: "7c03c8e0ae695174f7f10881dc49d2cb")
!100 = !DINamespace(name: "{impl#0}", scope: !101)
!101 = !DINamespace(name: "mut_ptr", scope: !102)
!102 = !DINamespace(name: "ptr", scope: !20)
!103 = distinct !DILocation(line: 1152, column: 14, scope: !104, inlinedAt: !106)
!104 = !DILexicalBlockFile(scope: !105, file: !99, discriminator: 6)
!105 = distinct !DISubprogram(name: "wrapping_add<u32>", linkageName: "_RNvMNtNtCs3Md5TvKWJZt_4core3ptr7mut_ptrOm12wrapping_addCsebqnrZA9AaL_7planted", scope: !100, file: !99, line: 1148, type: !13, scopeLine: 1148, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!106 = distinct !DILocation(line: 170, column: 18, scope: !107, inlinedAt: !94)
!107 = !DILexicalBlockFile(scope: !93, file: !67, discriminator: 6)
!108 = !DILocation(line: 195, column: 18, scope: !64, inlinedAt: !109)
!109 = distinct !DILocation(line: 82, column: 18, scope: !95, inlinedAt: !96)
!110 = !DILocation(line: 195, column: 18, scope: !111, inlinedAt: !112)
!111 = distinct !DISubprogram(name: "store_global<u32>", linkageName: "_RINvXNtCsjg97baH0bGJ_4simt3ptxNtB3_3PtxNtNtB5_7machine7Machine12store_globalmECsebqnrZA9AaL_7planted", scope: !24, file: !23, line: 194, type: !13, scopeLine: 194, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!112 = distinct !DILocation(line: 82, column: 18, scope: !113, inlinedAt: !115)
!113 = !DILexicalBlockFile(scope: !114, file: !67, discriminator: 2)
!114 = distinct !DISubprogram(name: "set<u32>", linkageName: "_RNvMs2_NtCsjg97baH0bGJ_4simt6globalINtB5_6GlobalmE3setCsebqnrZA9AaL_7planted", scope: !68, file: !67, line: 80, type: !13, scopeLine: 80, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !4, templateParams: !14)
!115 = distinct !DILocation(line: 22, column: 17, scope: !76, inlinedAt: !35)
!116 = !DILocation(line: 22, column: 5, scope: !76, inlinedAt: !35)
!117 = !DILocation(line: 7, column: 17, scope: !71, inlinedAt: !118)
!118 = distinct !DILocation(line: 14, column: 58, scope: !73, inlinedAt: !119)
!119 = distinct !DILocation(line: 21, column: 5, scope: !76, inlinedAt: !35)
!120 = !DILocation(line: 195, column: 18, scope: !64, inlinedAt: !121)
!121 = distinct !DILocation(line: 82, column: 18, scope: !66, inlinedAt: !122)
!122 = distinct !DILocation(line: 7, column: 10, scope: !71, inlinedAt: !118)
!123 = !DILocation(line: 55, column: 5, scope: !78, inlinedAt: !124)
!124 = distinct !DILocation(line: 119, column: 18, scope: !80, inlinedAt: !125)
!125 = distinct !DILocation(line: 64, column: 5, scope: !82, inlinedAt: !126)
!126 = distinct !DILocation(line: 8, column: 5, scope: !71, inlinedAt: !118)
!127 = !DILocation(line: 9, column: 14, scope: !71, inlinedAt: !118)
!128 = !DILocation(line: 190, column: 18, scope: !86, inlinedAt: !129)
!129 = distinct !DILocation(line: 66, column: 18, scope: !88, inlinedAt: !130)
!130 = distinct !DILocation(line: 9, column: 26, scope: !71, inlinedAt: !118)
!131 = !DILocation(line: 9, column: 21, scope: !71, inlinedAt: !118)
!132 = !DILocation(line: 170, column: 31, scope: !93, inlinedAt: !133)
!133 = distinct !DILocation(line: 82, column: 45, scope: !95, inlinedAt: !134)
!134 = distinct !DILocation(line: 9, column: 10, scope: !71, inlinedAt: !118)
!135 = !DILocation(line: 470, column: 18, scope: !98, inlinedAt: !136)
!136 = distinct !DILocation(line: 1152, column: 14, scope: !104, inlinedAt: !137)
!137 = distinct !DILocation(line: 170, column: 18, scope: !107, inlinedAt: !133)
!138 = !DILocation(line: 195, column: 18, scope: !64, inlinedAt: !139)
!139 = distinct !DILocation(line: 82, column: 18, scope: !95, inlinedAt: !134)
!140 = !DILocation(line: 22, column: 8, scope: !76, inlinedAt: !35)
!141 = !DILocation(line: 25, column: 10, scope: !10)
